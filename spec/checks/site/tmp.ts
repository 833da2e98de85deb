import { loadSearch } from './search.js';
const search = await loadSearch('/work/wt-guides/docs', { boostDocument: (page: string) => (/\/(?:api|project)\//.test(page) ? 0.2 : 1) });
for (const q of process.argv.slice(2)) console.log(q, search(q).slice(0, 6));
