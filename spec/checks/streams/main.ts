import { parseArgs } from 'node:util';
import { checkStreams } from './streams.js';

// npm run streams [-- --count 55000] [-- --seed N]: random well-formed streams of ten providers. Exits with 1 on any mistake.

const { values } = parseArgs({ options: { count: { type: 'string', default: '55000' }, seed: { type: 'string' } } });
const count = Number(values.count);
const seed = values.seed === undefined ? Date.now() % 2 ** 31 : Number(values.seed);

const start = performance.now();
try {
  await checkStreams(count, seed);
  const seconds = ((performance.now() - start) / 1000).toFixed(0);
  process.stdout.write(
    `${count} random streams of ten providers were read without a mistake (seed ${seed}, ${seconds} s).\n`,
  );
} catch (error) {
  process.stdout.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
