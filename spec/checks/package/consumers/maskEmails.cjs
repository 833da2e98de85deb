// The operator and the spec of docs/testing.md, for every test runner.

const address = /[\w.+-]+@[\w-]+(?:\.[\w-]+)+/g;
const mask = (text) => text.replace(address, '[email]');

const operatorOf =
  ({ createOperator }) =>
  () =>
    createOperator((out) => {
      let held = '';
      const release = () => {
        if (held !== '') out.next({ type: 'text', text: mask(held) });
        held = '';
      };
      return {
        next(chunk) {
          if (chunk.type === 'text') {
            const text = held + chunk.text;
            const end = text.search(/[\w.+@-]*$/);
            held = text.slice(end);
            if (end > 0) out.next({ ...chunk, text: mask(text.slice(0, end)) });
            return;
          }
          if (chunk.type === 'retract') held = '';
          if (chunk.type === 'finish') release();
          out.next(chunk);
        },
        error(thrown) {
          release();
          out.error(thrown);
        },
        complete() {
          release();
          out.complete();
        },
        release,
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
  it.each(operatorContract(maskEmails(), { source }))('maskEmails $title', ({ run }) => run());
};
