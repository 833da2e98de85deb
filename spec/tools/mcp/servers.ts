import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { resolve } from 'node:path';
import { Client, InMemoryTransport, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import type {
  CallToolRequest,
  CallToolResult,
  ClientOptions,
  JSONRPCMessage,
  ListToolsRequest,
  ListToolsResult,
  Transport,
} from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { McpServer } from '@modelcontextprotocol/server';
import type { ServerContext } from '@modelcontextprotocol/server';

/** A connected client, the messages that it has sent so far, and a function that closes it and its server. */
export interface Connected {
  readonly client: Client;
  readonly sent: readonly JSONRPCMessage[];
  close(): Promise<void>;
}

export const newClient = (options?: ClientOptions) => new Client({ name: 'rivulet-spec', version: '1.0.0' }, options);

/** Records what a transport sends. */
function recorded(transport: Transport): JSONRPCMessage[] {
  const sent: JSONRPCMessage[] = [];
  const send = transport.send.bind(transport);
  transport.send = (message, options) => {
    sent.push(message);
    return send(message, options);
  };
  return sent;
}

/** The method names of requests and notifications. */
export const methods = (sent: readonly JSONRPCMessage[]) =>
  sent.flatMap((message) => ('method' in message ? message.method : []));

const everything = resolve('node_modules/@modelcontextprotocol/server-everything/dist/index.js');

/** The reference server of the MCP project, as a child process, over its standard streams. */
export async function everythingOverStdio(options?: ClientOptions): Promise<Connected> {
  const client = newClient(options);
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [everything, 'stdio'],
    stderr: 'ignore',
  });
  const sent = recorded(transport);
  await client.connect(transport);
  return { client, sent, close: () => client.close() };
}

/** The server takes a port, but neither port 0 nor an address: a preloaded module sets both. */
const onLoopback = `import net from 'node:net';
const listen = net.Server.prototype.listen;
net.Server.prototype.listen = function (port, ...rest) {
  this.once('listening', () => console.error('port ' + this.address().port));
  return listen.call(this, 0, '127.0.0.1', ...rest);
};`;

/** The same server, over streamable HTTP on a free port of 127.0.0.1. */
export async function everythingOverHttp(options?: ClientOptions): Promise<Connected> {
  const preload = `data:text/javascript,${encodeURIComponent(onLoopback)}`;
  const child = spawn(process.execPath, ['--import', preload, everything, 'streamableHttp'], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const exited = once(child, 'exit');
  const port = await new Promise<string>((found, failed) => {
    const lines: string[] = [];
    createInterface(child.stderr).on('line', (line) => {
      lines.push(line);
      const [, digits] = /^port (\d+)$/.exec(line) ?? [];
      if (digits) found(digits);
    });
    void exited.then(() => failed(new Error(`The server did not start: ${lines.join('\n')}`)));
  });
  const client = newClient(options);
  const transport = new StreamableHTTPClientTransport(new URL(`http://127.0.0.1:${port}/mcp`));
  const sent = recorded(transport);
  await client.connect(transport);
  return {
    client,
    sent,
    async close() {
      await transport.terminateSession();
      await client.close();
      child.kill();
      await exited;
    },
  };
}

/** The answers of a spec's own server. */
export interface Answers {
  readonly list: (cursor: string | undefined) => ListToolsResult | Promise<ListToolsResult>;
  readonly call?: (
    params: CallToolRequest['params'],
    context: ServerContext,
  ) => CallToolResult | Promise<CallToolResult>;
}

/** A server with the answers of a spec, made with the official server package. */
export function newServer({ list, call }: Answers): McpServer {
  const server = new McpServer({ name: 'spec', version: '1.0.0' }, { capabilities: { tools: { listChanged: true } } });
  server.server.setRequestHandler('tools/list', (request: ListToolsRequest) => list(request.params?.cursor));
  server.server.setRequestHandler('tools/call', (request, context) => {
    if (call) return call(request.params, context);
    throw new Error('No call is expected.');
  });
  return server;
}

/** The same in memory, with a connected client. */
export async function inMemory(
  answers: Answers,
  options?: ClientOptions,
): Promise<Connected & { readonly server: McpServer }> {
  const server = newServer(answers);
  const [ours, theirs] = InMemoryTransport.createLinkedPair();
  const sent = recorded(ours);
  const client = newClient(options);
  await Promise.all([server.connect(theirs), client.connect(ours)]);
  return { client, sent, server, close: () => client.close() };
}

/** A tool without parameters. */
export const named = (name: string): ListToolsResult['tools'][number] => ({ name, inputSchema: { type: 'object' } });
