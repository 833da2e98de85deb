import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { auth, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { nodeListener } from 'rivulet/service';
import { serveMail } from './mailServer.js';
import { userIn } from './user.js';

// A run that waits for a sign-in, and goes on in another process. `npm run example:mcp-sign-in` prints the address to
// open; with `-- --yes`, the program opens it itself.

const folder = mkdtempSync(join(tmpdir(), 'rivulet-sign-in-'));
const mail = await serveMail();

/** The callback route of the service: it gets the code when the user has signed in. */
let signedIn: () => void = () => undefined;
const route = async (request: Request): Promise<Response> => {
  const { searchParams } = new URL(request.url);
  if (searchParams.get('state') !== user.kept().state) return new Response('Another sign-in.', { status: 403 });
  await transport().finishAuth(searchParams.get('code') ?? '');
  signedIn();
  return new Response('You are signed in. Return to the terminal.');
};
const callback = createServer(nodeListener(route)).listen(0, '127.0.0.1');
await new Promise((resolve) => callback.once('listening', resolve));
const redirectUrl = `http://127.0.0.1:${(callback.address() as AddressInfo).port}/callback`;
const user = userIn(folder, redirectUrl);
const transport = () => new StreamableHTTPClientTransport(new URL(`${mail.url}/mcp`), { authProvider: user });

/** Starts a process of the service, and returns what it prints. */
async function startProcess(command: 'start' | 'resume'): Promise<string> {
  const script = fileURLToPath(new URL('./agent.ts', import.meta.url));
  const program = ['--import', 'tsx', script, command, folder, mail.url, redirectUrl];
  const { stdout } = await promisify(execFile)(process.execPath, program);
  return stdout.trim();
}
/** Opens an address, as the user's browser does, or lets the user open it. */
async function signInAt(address: string): Promise<void> {
  const done = new Promise<void>((resolve) => (signedIn = resolve));
  console.log(`Open ${address}`);
  if (process.argv.includes('--yes')) await fetch(address);
  await done;
}

// A user who has never signed in does so before the first run: the tools are not known yet.
let first = '';
user.redirectToAuthorization = (address) => void (first = address.href);
await auth(user, { serverUrl: `${mail.url}/mcp` });
await signInAt(first);

const address = await startProcess('start');
console.log('The run waits, and its process has ended.');
await signInAt(address);
console.log(await startProcess('resume'));

const token = user.kept().tokens?.access_token ?? '';
const isSecret = !readFileSync(join(folder, 'run.json'), 'utf8').includes(token);
console.log(`The stored run contains ${isSecret ? 'no' : 'a'} token.`);
callback.closeAllConnections();
callback.close();
mail.close();
rmSync(folder, { recursive: true });
