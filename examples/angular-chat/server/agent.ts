import { createAgent } from 'rivulet';
import type { Model } from 'rivulet';
import { chatTools } from './tools.js';

const system =
  'Answer in Markdown, briefly. Use a tool where one fits. A tool may wait for the user: do not ask for permission in words.';

/** The agent of this example, with any model. It counts the primes below several numbers at the same time. */
export const chatAgent = (model: Model, tools = chatTools()) =>
  createAgent({ model, system, tools, toolConcurrency: 4 });
