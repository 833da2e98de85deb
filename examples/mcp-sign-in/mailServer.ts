import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { nodeListener } from 'rivulet/service';

/**
 * An MCP server whose tool needs a sign-in, made with the official package, and its authorisation server. It signs
 * everybody in who opens its page, and accepts one access token at a time: `POST /revoke` ends it.
 */
export async function serveMail() {
  let origin = '';
  let accepted = '';
  const codes = new Set<string>();
  const mail = createMcpHandler(() => {
    const server = new McpServer({ name: 'mail', version: '1.0.0' });
    const read = () => ({ content: [{ type: 'text' as const, text: 'Two mails, both of Ann.' }] });
    server.registerTool('read_mail', { description: 'Reads the mail of the user.' }, read);
    return server;
  });

  async function answer(request: Request): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url);
    switch (pathname) {
      case '/.well-known/oauth-protected-resource/mcp':
        return Response.json({ resource: `${origin}/mcp`, authorization_servers: [origin] });
      case '/.well-known/oauth-authorization-server':
        return Response.json({
          issuer: origin,
          authorization_endpoint: `${origin}/authorize`,
          token_endpoint: `${origin}/token`,
          response_types_supported: ['code'],
          code_challenge_methods_supported: ['S256'],
        });
      case '/authorize': {
        const code = crypto.randomUUID();
        codes.add(code);
        const back = new URL(searchParams.get('redirect_uri') ?? '');
        back.searchParams.set('code', code);
        back.searchParams.set('state', searchParams.get('state') ?? '');
        return new Response(null, { status: 302, headers: { location: back.href } });
      }
      case '/token': {
        const form = new URLSearchParams(await request.text());
        if (!codes.delete(form.get('code') ?? '')) return Response.json({ error: 'invalid_grant' }, { status: 400 });
        accepted = crypto.randomUUID();
        return Response.json({ access_token: accepted, token_type: 'Bearer' });
      }
      case '/revoke':
        accepted = '';
        return new Response(null, { status: 204 });
      case '/mcp': {
        const isAccepted = accepted !== '' && request.headers.get('authorization') === `Bearer ${accepted}`;
        return isAccepted ? mail.fetch(request) : new Response(null, { status: 401 });
      }
      default:
        return new Response(null, { status: 404 });
    }
  }

  const server = createServer(nodeListener(answer)).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url: origin,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
