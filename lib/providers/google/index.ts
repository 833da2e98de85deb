export { google } from './google.js';
export { googleTools } from './serverTools.js';
export type { GoogleTool } from './serverTools.js';
export { googleInteractions } from '../googleInteractions/googleInteractions.js';
