// Loaded before each program: its requests to OpenAI go to the server of `main.ts`.
import { toServer } from '../../support/documentAnswers.js';

process.env['OPENAI_API_KEY'] = 'sk-guides';
globalThis.fetch = toServer(process.env['GUIDES_SERVER'] ?? '', globalThis.fetch);
