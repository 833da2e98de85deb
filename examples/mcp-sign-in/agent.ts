import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { firstValueFrom } from 'rxjs';
import { createAgent } from 'rivulet';
import type { Checkpoint } from 'rivulet';
import { mcpSignIn, mcpTools } from 'rivulet/mcp';
import { scriptedModel, toolCall } from 'rivulet/testing';
import { userIn } from './user.js';

// One process of the service. `start` runs until the call waits for the sign-in; `resume` continues the stored run.

const [command = '', folder = '', url = '', redirectUrl = ''] = process.argv.slice(2);
const signIn = mcpSignIn(userIn(folder, redirectUrl));
const { authProvider, fetch: signedFetch } = signIn;
const client = new Client({ name: 'rivulet-example', version: '1.0.0' });
await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { authProvider, fetch: signedFetch }));
const tools = await firstValueFrom(mcpTools(client, { signIn }));
const model = scriptedModel(({ messages }) =>
  messages.length > 1 ? 'You have two mails, both of Ann.' : [toolCall('read_mail', {}, 'call')],
);
const agent = createAgent({ model, tools });
const stored = join(folder, 'run.json');

if (command === 'start') {
  await fetch(`${url}/revoke`, { method: 'POST' }); // as if the session had expired meanwhile
  const { waiting, checkpoint } = await firstValueFrom(agent.run('Read my mail.'));
  writeFileSync(stored, JSON.stringify(checkpoint));
  const address = waiting?.[0]?.details?.['signIn'];
  if (typeof address === 'string') console.log(address);
} else {
  const checkpoint = JSON.parse(readFileSync(stored, 'utf8')) as Checkpoint;
  const { text } = await firstValueFrom(agent.resumeRun(checkpoint, { decisions: { call: { approve: true } } }));
  console.log(text);
}
await client.close();
