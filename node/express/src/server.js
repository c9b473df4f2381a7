import { app } from './app.js';
import { disconnect } from './databases.js';
import { badSetting, settings } from './settings.js';

const server = app.listen(settings.port, settings.host, 1024, (error) => {
  if (error) badSetting('HOST', `an address with PORT free (${error.message})`);
});

for (const signal of ['SIGINT', 'SIGTERM']) {
  process.on(signal, () => {
    server.close();
    server.keepAliveTimeout = 1; // a connection in use closes after its answer
    server.prependListener('request', (req, res) => res.setHeader('Connection', 'close'));
    setTimeout(() => process.exit(), 10_000).unref();
  });
}
server.on('close', () => disconnect().finally(() => process.exit()));
