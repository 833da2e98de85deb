import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';
import { filter, firstValueFrom } from 'rxjs';
import { conversation, remoteAgent } from 'rivulet/chat';

const project = fileURLToPath(new URL('../../..', import.meta.url));

/** Starts the service as its script does, offline, on a free port. */
async function start() {
  const child = spawn(process.execPath, ['--import', 'tsx', 'examples/node-service/main.ts'], {
    cwd: project,
    env: { PATH: process.env['PATH'] ?? '', PORT: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
  while (!output.includes('Open ')) await once(child.stdout, 'data');
  return { child, url: /Open (\S+)/.exec(output)?.[1] ?? '' };
}

describe('npm run example:node-service, in a process of its own', () => {
  it('the service answers, and SIGTERM stops a run that goes on and ends the process', async () => {
    const { child, url } = await start();
    const ended = once(child, 'exit');
    const chat = conversation(remoteAgent(new URL('api/chat', url).href));
    const reached = (status: string) => firstValueFrom(chat.view$.pipe(filter((view) => view.status === status)));
    const views = chat.view$.subscribe();

    chat.send('How warm is it in Oslo?');
    await reached('sending');
    const { exchanges } = await reached('idle');
    expect(JSON.stringify(exchanges)).toContain('In Oslo it is -3 °C');

    chat.send('How warm is it in Rome?');
    await reached('runningTools');
    child.kill('SIGTERM');
    await reached('stopped');
    views.unsubscribe();
    expect(await ended).toEqual([0, null]);
  });
});
