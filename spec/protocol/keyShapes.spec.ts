import { describe, expect, it } from '@jest/globals';
import { findKeyShapes, openKeyShape } from '../../lib/protocol/keyShapes.js';
import { redactThrown } from '../../lib/protocol/redact.js';
import { mergeRanges, replaceRanges } from '../../lib/protocol/secrets.js';

const letters = 'abcdefghijklmnopqrstuvwxyz';
const digits = '0123456789';
const hex = `${digits}abcdef`;

/** By the service: a token that is invented, and what must stay of it. Default: nothing. */
const tokens: Readonly<Record<string, readonly [token: string, rest?: string]>> = {
  OpenAI: [`sk-proj-${letters}${digits}`],
  Anthropic: [`sk-ant-api03-${letters}`],
  Groq: [`gsk_${letters}${letters}`],
  'Hugging Face': [`hf_${letters}ABCDEFGH`],
  NVIDIA: [`nvapi-${letters}${digits}`],
  Google: [`AIzaSyA1234567890${letters.slice(0, 22)}`],
  'Google OAuth': [`ya29.a0AfH6SMB${letters}`],
  'a Google client': [`GOCSPX-${letters.slice(0, 24)}Ab12`],
  AWS: ['AKIAIOSFODNN7EXAMPLE'],
  'GitHub, classic': [`ghp_${letters}${digits}`],
  'GitHub, OAuth': [`gho_${letters}${digits}`],
  'GitHub, user': [`ghu_${letters}${digits}`],
  'GitHub, server': [`ghs_${letters}${digits}`],
  'GitHub, refresh': [`ghr_${letters}${digits}`],
  'GitHub, fine-grained': [`github_pat_11ABCDEFG0${letters}_${letters}`],
  GitLab: [`glpat-${letters}`],
  npm: [`npm_${letters}${digits}`],
  PyPI: [`pypi-AgEIcHlwaS5vcmc${letters}`],
  Stripe: [`sk_live_${letters}`],
  'Stripe, webhook': [`whsec_${letters}${digits}`],
  Slack: ['xoxb-1234567890-abcdefghijkl'],
  'a Slack app': ['xapp-1-A0123456789-abcdefghijkl'],
  SendGrid: [`SG.${letters.slice(0, 22)}.${letters}${digits}`],
  DigitalOcean: [`dop_v1_${hex.repeat(4)}`],
  Tavily: [`tvly-${letters}`],
  Voyage: [`pa-${letters}${digits}ABCDEFG`],
  LangSmith: [`lsv2_pt_${hex.repeat(2)}_abcdef1234`],
  Telegram: [`123456789:AA${letters}ABCDEFG`],
  'a JSON Web Token': [`eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.${letters}`],
  'a private key': [`-----BEGIN RSA PRIVATE KEY-----\n${letters}\n${letters}\n-----END RSA PRIVATE KEY-----`],
  Bearer: [`Bearer ${letters}`, 'Bearer '],
  'bearer in small letters': [`bearer ${letters}`, 'bearer '],
  Basic: ['Basic dXNlcjpwYXNzd29yZDEyMw==', 'Basic '],
  'basic in capitals': ['BASIC dXNlcjpwYXNzd29yZDEyMw==', 'BASIC '],
  'a database': ['postgres://user:hunter2secret@db.example/shop', 'postgres://user:@db.example/shop'],
  Redis: ['redis://:s3cretpassword@cache.example:6379/0', 'redis://:@cache.example:6379/0'],
  'an Azure signature': [`https://x.example/c/f?sv=2021&sig=${letters}%2B%3D`, 'https://x.example/c/f?sv=2021&sig='],
  'an AWS signature': [`https://x.example/?X-Amz-Signature=${hex.repeat(4)}`, 'https://x.example/?X-Amz-Signature='],
  'an Azure account': [`AccountKey=${letters}${letters}==`, 'AccountKey='],
};

const hide = (text: string) => replaceRanges(text, mergeRanges(findKeyShapes(text)), '');

describe('findKeyShapes', () => {
  const rows = Object.entries(tokens).map(([name, [token, rest = '']]) => [name, token, rest] as const);

  it.each(rows)('findKeyShapes hides a key of %s', (_, token, rest) => {
    expect(hide(`The credential ${token} was refused`)).toBe(`The credential ${rest} was refused`);
    expect(hide(`{"a":"${token}"}`)).toBe(`{"a":"${rest}"}`);
    const { message } = redactThrown(new Error(`busy, ${token}. (503)`), { provider: 'p' }) as Error;
    expect(message.replace('[key]', '')).toContain(`busy, ${rest}`);
    expect(message).toContain('[key]');
    expect(message).not.toContain(token);
  });

  it.each(rows)('openKeyShape holds the first part of a key of %s', (_, token) => {
    const text = `The credential ${token}`;
    const [from, to] = mergeRanges(findKeyShapes(`${text} so`)).at(0) ?? [0, 0];
    for (let cut = from + 1; cut <= Math.min(to, text.length - 1); cut++)
      expect({ cut, isHeld: openKeyShape(text.slice(0, cut)) <= from }).toEqual({ cut, isHeld: true });
    expect(to).toBeGreaterThan(from);
  });

  it.each([
    'A basic understanding of bearer authentication, and of Basic JavaScript.',
    'The hash 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08 of run 123e4567-e89b-12d3-a456-426614174000.',
    `data:image/png;base64,${'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ+/'.repeat(20)}==`,
    'npm_config_registry_of_this_user_agent and pypi-publish-release-action and pa-rt of a word',
    'https://user@host.example/path:80/a@b, see http://x.example:8080/@scope/name',
    '1234567890:1 and 12:30:45 and a ratio of 1:AA',
    'The signal?sig=short and a=1&b=2',
    'SG.a and ya29.b and AccountKey=none',
  ])('findKeyShapes leaves ordinary text: %.30s', (text) => {
    expect(hide(text)).toBe(text);
  });
});
