import { readFileSync, writeFileSync } from 'node:fs';
import { withCapabilityTable } from './capabilityTable.js';

writeFileSync('README.md', withCapabilityTable(readFileSync('README.md', 'utf8')));
