import assert from 'node:assert/strict';
import { parseArgs } from 'node:util';
import { describe } from './family.js';
import type { Check, Effort, Family } from './family.js';
import { aiSdk } from './families/aiSdk.js';
import { cancel } from './families/cancel.js';
import { cuts } from './families/cuts.js';
import { floods } from './families/floods.js';
import { frames } from './families/frames.js';
import { headers } from './families/headers.js';
import { mcp } from './families/mcp.js';
import { modelTexts } from './families/modelTexts.js';
import { pollution } from './families/pollution.js';
import { secrets } from './families/secrets.js';
import { services } from './families/services.js';
import { testing } from './families/testing.js';
import { unknown } from './families/unknown.js';
import { toolArguments } from './families/toolArguments.js';
import { toolResults } from './families/toolResults.js';

// npm run attack [-- --short] [-- FAMILY...]: hostile servers, models, tools and MCP servers. Exits with 1 on any failure.

const families: readonly Family[] = [
  cuts,
  cancel,
  frames,
  toolArguments,
  toolResults,
  headers,
  floods,
  pollution,
  secrets,
  mcp,
  aiSdk,
  unknown,
  modelTexts,
  testing,
  services,
];

/** How long one case may take, in milliseconds. */
const caseLimit = 300_000;
/** How many failures of a family are printed. */
const maxPrinted = 20;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { short: { type: 'boolean', default: false } },
});
const effort: Effort = { isShort: values.short, choose: (short, full) => (values.short ? short : full) };
const print = (line: string) => process.stdout.write(`${line}\n`);

const uncaught: string[] = [];
process.on('uncaughtException', (error) => uncaught.push(`uncaught: ${describe(error)}`));
process.on('unhandledRejection', (reason) => uncaught.push(`unhandled rejection: ${describe(reason)}`));

const prototypes = [Object.prototype, Array.prototype, Function.prototype, String.prototype];
const keysOf = () => prototypes.map((prototype) => Reflect.ownKeys(prototype).map(String).join());
const originalKeys = keysOf();

function assertUnpolluted(): void {
  assert.deepEqual(keysOf(), originalKeys, 'a prototype was changed');
  assert.equal(({} as { polluted?: unknown }).polluted, undefined, '({}).polluted is defined');
}

/** Runs a family. Returns the number of its failures. */
async function runFamily(family: Family): Promise<number> {
  const start = performance.now();
  const failures: string[] = [];
  let cases = 0;
  const check: Check = async (title, test) => {
    cases++;
    let timer: NodeJS.Timeout | undefined;
    const limit = new Promise((_, reject) => {
      timer = setTimeout(() => reject(new Error(`did not end within ${caseLimit} ms`)), caseLimit);
    });
    try {
      await Promise.race([Promise.resolve().then(test), limit]);
      assertUnpolluted();
    } catch (error) {
      failures.push(`${title}: ${describe(error)}`);
    } finally {
      clearTimeout(timer);
      failures.push(...uncaught.splice(0).map((problem) => `${title}: ${problem}`));
    }
  };
  try {
    await family.run(check, effort);
  } catch (error) {
    failures.push(`the family itself: ${describe(error)}`);
  }
  await new Promise((resolve) => setTimeout(resolve, 200)); // undici raises errors some ticks after an abort
  failures.push(...uncaught.splice(0));
  const seconds = ((performance.now() - start) / 1000).toFixed(1);
  print(
    `${failures.length === 0 ? 'ok    ' : 'FAILED'} ${family.name}: ${cases} cases, ${failures.length} failures (${seconds} s)`,
  );
  for (const failure of failures.slice(0, maxPrinted)) print(`       ${failure}`);
  if (failures.length > maxPrinted) print(`       and ${failures.length - maxPrinted} more`);
  return failures.length;
}

const selected = families.filter(({ name }) => positionals.length === 0 || positionals.includes(name));
if (selected.length === 0) print(`There is no such family. There are: ${families.map(({ name }) => name).join(', ')}.`);
let failures = selected.length === 0 ? 1 : 0;
for (const family of selected) failures += await runFamily(family);
process.exit(failures === 0 ? 0 : 1);
