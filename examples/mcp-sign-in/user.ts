import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { OAuthClientProvider, OAuthDiscoveryState, OAuthTokens } from '@modelcontextprotocol/client';

/** What the service keeps of a user: here in a file, which all its processes read. */
interface Kept {
  readonly tokens?: OAuthTokens | undefined;
  readonly verifier?: string;
  readonly state?: string;
  /** Which authorisation server the sign-in began at: its answer is accepted from no other. */
  readonly discovery?: OAuthDiscoveryState | undefined;
}

/** The provider of one user for the official client. */
export function userIn(folder: string, redirectUrl: string): OAuthClientProvider & { readonly kept: () => Kept } {
  const file = join(folder, 'user.json');
  const kept = (): Kept => {
    try {
      return JSON.parse(readFileSync(file, 'utf8')) as Kept;
    } catch {
      return {}; // a user who has never signed in
    }
  };
  const keep = (change: Kept) => writeFileSync(file, JSON.stringify({ ...kept(), ...change }), { mode: 0o600 });
  return {
    kept,
    redirectUrl,
    clientMetadata: { redirect_uris: [redirectUrl] },
    clientInformation: () => ({ client_id: 'rivulet-example' }),
    state: () => {
      const state = crypto.randomUUID();
      keep({ state });
      return state;
    },
    tokens: () => kept().tokens,
    saveTokens: (tokens) => keep({ tokens }),
    redirectToAuthorization: () => undefined, // the address is in the call that waits
    saveCodeVerifier: (verifier) => keep({ verifier }),
    saveDiscoveryState: (discovery) => keep({ discovery }),
    discoveryState: () => kept().discovery,
    codeVerifier: () => kept().verifier ?? '',
    invalidateCredentials: () => keep({ tokens: undefined, discovery: undefined }),
  };
}
