import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { toolNames } from '../../../lib/bridges/mcp/mcpTools.js';

describe('the names of tools', () => {
  it('stay as they are where every provider takes them', () => {
    expect(toolNames(['read_file', 'get-sum', '_x', 'A1'])).toEqual(['read_file', 'get-sum', '_x', 'A1']);
  });
  it('have other characters replaced, and begin with a letter or _', () => {
    expect(toolNames(['files.read', 'ns/tool name', 'über', '2fa', '-x', ''])).toEqual([
      'files_read',
      'ns_tool_name',
      '__ber',
      '_2fa',
      '_-x',
      '_',
    ]);
  });
  it('are cut after 64 characters', () => {
    expect(toolNames(['a'.repeat(65)])).toEqual(['a'.repeat(64)]);
  });
  it('are numbered where they become the same; one that was good keeps its own', () => {
    expect(toolNames(['a.b', 'a/b', 'a_b'])).toEqual(['a_b_2', 'a_b_3', 'a_b']);
    expect(toolNames(['a'.repeat(70), 'a'.repeat(64)])).toEqual([`${'a'.repeat(62)}_2`, 'a'.repeat(64)]);
  });
  it('are distinct, and good, whatever they were', () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.string({ maxLength: 80 })), (names) => {
        const safe = toolNames(names);
        expect(new Set(safe).size).toBe(names.length);
        for (const name of safe) expect(name).toMatch(/^[A-Za-z_][A-Za-z0-9_-]{0,63}$/);
      }),
    );
  });
});
