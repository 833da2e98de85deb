import { parseArgs } from 'node:util';
import { firstValueFrom } from 'rxjs';
import type { Shell } from '../shell.js';
import { UsageError } from '../usageError.js';
import { InspectedRuns } from './inspectedRuns.js';
import { serveInspector } from './inspectServer.js';

const aRecording = 'Pass a file with the lines of recordRun or record of rivulet/recording.';

const DEFAULT_PORT = 4983;

export async function inspectCommand(args: readonly string[], shell: Shell): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...args],
    options: { port: { type: 'string' }, allow: { type: 'string', multiple: true } },
    allowPositionals: true,
  });
  const runs = new InspectedRuns();
  for (const file of positionals) {
    const before = runs.list().length;
    runs.add(file, await shell.readFile(file), true);
    if (runs.list().length === before) throw new Error(`${file} has no run. ${aRecording}`);
  }
  const origins = (values.allow ?? []).map(originOf);
  const server = await serveInspector(runs, { port: portOf(values.port), origins });
  shell.write(`Inspector: ${server.address}\n`);
  shell.write(`To see the runs of a process: inspectRuns(agent, '${server.address}')\n`);
  shell.write('The address has a token: whoever knows it can read the runs. Ctrl-C ends the inspector.\n');
  await firstValueFrom(shell.interrupts, { defaultValue: undefined });
  await server.close();
  return 0;
}

function portOf(text: string | undefined): number {
  if (text === undefined) return DEFAULT_PORT;
  const port = Number(text);
  if (Number.isInteger(port) && port >= 0 && port < 65_536) return port;
  throw new UsageError(`--port "${text}" is not a port: 0 to 65535, 0 for any.`);
}

function originOf(text: string): string {
  if (URL.canParse(text) && new URL(text).origin === text) return text;
  throw new UsageError(`--allow "${text}" is not the origin of a page, such as http://localhost:4200.`);
}
