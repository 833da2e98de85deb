export { listOf, parseDataUrl } from '../shared/values.js';
