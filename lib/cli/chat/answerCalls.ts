import { concat, concatMap, defaultIfEmpty, defer, EMPTY, filter, map, of, Subject, takeUntil } from 'rxjs';
import type { Observable } from 'rxjs';
import type { CallAnswers, WaitingCall } from '../../core/approval.js';
import type { RunEvent } from '../../core/event.js';
import { asArray, objectOrEmpty, tryParseJson } from '../../core/json/json.js';
import type { JsonObject, JsonValue } from '../../core/json/json.js';
import { innermost } from '../../core/nested.js';
import { plainText } from '../eventPrinter.js';
import type { LineInput } from './lineInput.js';

const DECLINE = '/decline';

/** What a field, or a person who does not answer, has typed. */
type Typed = { readonly value: JsonValue | undefined } | 'declined';

/** Asks the person at the terminal about the calls of a run that wait, one after the other. */
export class CallAnswerer {
  private readonly waiting = new Subject<WaitingCall>();
  private readonly open = new Set<string>();
  private readonly ended = new Subject<string>();
  private readonly given = new Subject<CallAnswers>();
  /** For the option `answers` of the run. */
  readonly answers = this.given.asObservable();

  constructor(private readonly input: LineInput) {}

  /** Emits the text to write. */
  texts(): Observable<string> {
    return this.waiting.pipe(
      concatMap((call) =>
        defer(() => (this.open.has(call.id) ? this.ask(call) : EMPTY)).pipe(
          takeUntil(this.ended.pipe(filter((id) => id === call.id))), // another one has answered, or its time is over
        ),
      ),
    );
  }

  observe(event: RunEvent): void {
    if (event.type === 'result') this.end();
    const known = innermost(event);
    if (known.type === 'toolResult' && this.open.delete(known.id)) this.ended.next(known.id);
    if (known.type !== 'toolWaiting') return;
    this.open.add(known.id);
    this.waiting.next(known);
  }

  end(): void {
    for (const id of this.open) this.ended.next(id);
    this.open.clear();
    this.waiting.complete();
  }

  private ask(call: WaitingCall): Observable<string> {
    const { question, details, name, arguments: args } = call;
    const asked = question ? question.message : `Run ${name} ${JSON.stringify(args)}?`;
    const lines = [question?.problem, asked, details && JSON.stringify(details)].filter((line) => line !== undefined);
    const typed = question ? this.askFields(question.schema) : this.askField('y/N', { type: 'boolean' }, true);
    const reply = typed.pipe(
      concatMap((answer) => {
        if (!question)
          this.given.next({ decisions: { [call.id]: { approve: answer !== 'declined' && answer.value === true } } });
        else if (answer === 'declined') this.given.next({ decisions: { [call.id]: { approve: false } } });
        else this.given.next({ results: { [call.id]: answer.value ?? {} } });
        return EMPTY;
      }),
    );
    return concat(of(`${plainText(lines.join('\n'))}\n`), reply);
  }

  /** Each field is a line. An empty line leaves out a field that may be absent, and declines otherwise. */
  private askFields({ properties, required }: JsonObject): Observable<Typed> {
    const fields = Object.entries(objectOrEmpty(properties));
    if (fields.length === 0) return this.askField('y/N', { type: 'boolean' }, true).pipe(map(orDecline));
    const names = asArray(required);
    const ask = (index: number, value: JsonObject): Observable<Typed> => {
      const [name, field] = fields[index] ?? [];
      if (name === undefined) return of({ value });
      return this.askField(name, objectOrEmpty(field), names.includes(name)).pipe(
        concatMap((typed) => {
          if (typed === 'declined') return of(typed);
          return ask(index + 1, typed.value === undefined ? value : { ...value, [name]: typed.value });
        }),
      );
    };
    return ask(0, {});
  }

  private askField(name: string, field: JsonObject, isRequired: boolean): Observable<Typed> {
    const { title, description, default: given } = field;
    const options = optionsOf(field);
    const notes = [
      ...[description, title].filter(isText).slice(0, 1),
      ...(options.length > 0 ? [options.map(shown).join(', ')] : []),
      ...(given === undefined ? [] : [`default ${shown(given)}`]),
      ...(isRequired ? [] : ['optional']),
    ];
    const prompt = plainText(notes.length > 0 ? `${name} (${notes.join('; ')}): ` : `${name}: `).replaceAll('\n', ' ');
    return defer(() => this.input.ask(prompt)).pipe(
      defaultIfEmpty(DECLINE), // Ctrl-D
      map((line): Typed => {
        const text = line.trim();
        if (text === DECLINE || (text === '' && isRequired && given === undefined)) return 'declined';
        return { value: text === '' ? given : valueOf(text, field) };
      }),
    );
  }
}

const isText = (value: unknown): value is string => typeof value === 'string';

const shown = (value: JsonValue): string => (isText(value) ? value : JSON.stringify(value));

const orDecline = (typed: Typed): Typed => (typed !== 'declined' && typed.value === true ? { value: {} } : 'declined');

const optionsOf = ({ enum: values, oneOf, items }: JsonObject): readonly JsonValue[] => {
  const all = [...asArray(values), ...asArray(oneOf).map((option) => objectOrEmpty(option)['const'])];
  const inner = objectOrEmpty(items);
  return all.length > 0 || items === undefined
    ? (all as JsonValue[])
    : optionsOf({ ...inner, oneOf: inner['oneOf'] ?? inner['anyOf'] ?? [] });
};

/** A text of another type than the schema's is sent as it is: the person is asked again, with the reason. */
function valueOf(text: string, { type, items }: JsonObject): JsonValue {
  switch (type) {
    case 'number':
    case 'integer':
      return Number.isNaN(Number(text)) ? text : Number(text);
    case 'boolean':
      return /^(y|yes|true)$/i.test(text) || (!/^(n|no|false)$/i.test(text) && text);
    case 'array':
      return text.split(',').map((each) => valueOf(each.trim(), objectOrEmpty(items)));
    case 'object':
      return tryParseJson(text) ?? text;
    default:
      return text;
  }
}
