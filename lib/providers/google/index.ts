// The entry point `rivulet/google`: Google's model (which `rivulet` exports too), the same models over the Interactions
// API, and the tools that Google runs on its servers, with the types of their options.
export { google } from './google.js';
export { googleTools } from './serverTools.js';
export type { GoogleTool } from './serverTools.js';
export { googleInteractions } from '../googleInteractions/googleInteractions.js';
