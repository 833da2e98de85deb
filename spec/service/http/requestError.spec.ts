import { describe, expect, it } from '@jest/globals';
import { requireJson, requireName } from '../../../lib/service/http/requestError.js';

describe('requireName', () => {
  it('requireName accepts a name of 200 characters, and no longer one', () => {
    expect(requireName('x'.repeat(200))).toHaveLength(200);
    expect(() => requireName('x'.repeat(201))).toThrow('Send ids of 1 to 200 characters');
  });
});

describe('requireJson', () => {
  const check = (type: string) => () =>
    requireJson(new Request('http://service.test', { method: 'POST', headers: { 'content-type': type } }));

  it.each(['application/json', 'Application/JSON;charset=utf-8', 'application/json ; charset=utf-8'])(
    'requireJson accepts %s',
    (type) => expect(check(type)).not.toThrow(),
  );

  it.each(['application/jsonp', 'application/json-patch+json', 'text/plain', 'text/plain; application/json'])(
    'requireJson rejects %s',
    (type) => expect(check(type)).toThrow(expect.objectContaining({ status: 415 })),
  );
});
