import express from 'express';

import { methodNotAllowed, notFound, problem } from './answers.js';
import { file, fileName, gridfsFile } from './files.js';
import { agents, article, hello, index, sleep, slowApi } from './handlers.js';

export const app = express();

app.disable('x-powered-by');
app.enable('case sensitive routing');
app.enable('strict routing');

app.param('name', fileName);

app.route('/index').get(index).all(methodNotAllowed);
app.route('/json').get(hello).all(methodNotAllowed);
app.route('/mongo').get(article).all(methodNotAllowed);
app.route('/agents').get(agents).all(methodNotAllowed);
app.route('/files/:name').get(file).all(methodNotAllowed);
app.route('/gridfs/:name').get(gridfsFile).all(methodNotAllowed);
app.route('/sleep').get(sleep).all(methodNotAllowed);
app.route('/slow_api').get(slowApi).all(methodNotAllowed);

app.use(notFound);
app.use(problem);
