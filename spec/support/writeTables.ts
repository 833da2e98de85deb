import { readFileSync, writeFileSync } from 'node:fs';
import { readResults } from '../checks/bench/results.js';
import { withCapabilityTable } from './capabilityTable.js';
import { speedSummary, speedTables, withSpeed } from './speedTable.js';

const results = readResults();
const change = (file: string, update: (text: string) => string) =>
  writeFileSync(file, update(readFileSync(file, 'utf8')));

change('docs/providers.md', withCapabilityTable);
change('docs/performance.md', (guide) => withSpeed(guide, speedSummary(results)));
change('spec/checks/bench/README.md', (readme) => withSpeed(readme, speedTables(results)));
