// The operator and the spec of docs/testing.md, for every test runner.

const address = /[\w.+-]+@[\w-]+(?:\.[\w-]+)+/g;

const operatorOf =
  ({ textFilter }) =>
  () =>
    textFilter((emit) => {
      let held = '';
      const emitText = (text) => {
        if (text !== '') emit({ type: 'text', text: text.replace(address, '[email]') });
      };
      return {
        read(chunk) {
          const text = held + chunk.text;
          const end = text.search(/[\w.+@-]*$/);
          held = text.slice(end);
          emitText(text.slice(0, end));
          return false;
        },
        release() {
          const text = held;
          held = '';
          emitText(text);
        },
      };
    });

const text = (value) => ({ type: 'text', text: value });
const finish = { type: 'finish', reason: 'stop' };
const deltas = { a: [text('Write to ann@')], b: [text('example.org now')], c: [finish] };

module.exports = ({ rivulet, testing, expect, it }) => {
  const maskEmails = operatorOf(rivulet);
  const { marbleMatchers, operatorContract, playMarbles } = testing;
  expect.extend(marbleMatchers);

  it('maskEmails masks an address that two deltas share', () => {
    expect(() => playMarbles('a 9ms b 9ms (c|)', deltas).pipe(maskEmails())).toEmitMarbles('a 9ms b 9ms (c|)', {
      a: [text('Write to ')],
      b: [text('[email] ')],
      c: [text('now'), finish],
    });
  });

  it('a failure shows both diagrams', () => {
    const failing = () => expect(() => playMarbles('a 9ms (b|)', deltas)).toEmitMarbles('a 5ms (b|)', deltas);
    expect(failing).toThrow('expected  a 5ms (b|)\nactual    a 9ms (b|)\n            ^');
  });

  const source = [...deltas.a, ...deltas.b, ...deltas.c];
  for (const { title, run } of operatorContract(maskEmails(), { source })) it(`maskEmails ${title}`, run);
};
