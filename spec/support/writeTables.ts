import { readFileSync, writeFileSync } from 'node:fs';
import { readResults } from '../bench/results.js';
import { withCapabilityTable } from './capabilityTable.js';
import { withSpeedTable } from './speedTable.js';

writeFileSync('README.md', withSpeedTable(withCapabilityTable(readFileSync('README.md', 'utf8')), readResults()));
