import js from '@eslint/js';
import { defineConfig, globalIgnores } from 'eslint/config';
import globals from 'globals';

export default defineConfig([
  globalIgnores(['fixtures/']), // loaded by mongosh
  { files: ['**/*.js'], ...js.configs.recommended },
  { languageOptions: { globals: globals.node } },
]);
