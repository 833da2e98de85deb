import { asKnownEvent, type KnownEvent } from '../core/eventGuards.js';
import type { StreamEvent } from '../core/event.js';
import type { JsonValue } from '../core/json/json.js';
import { escapeHidden, plainText } from '../core/plainText.js';

const colors = { dim: '2', red: '31', green: '32', yellow: '33', cyan: '36' } as const;

/** In characters. */
const LONGEST_JSON = 100;

function jsonOf(value: JsonValue | undefined): string {
  const text = plainText(typeof value === 'string' ? value : escapeHidden(JSON.stringify(value ?? ''))).replaceAll(
    '\n',
    ' ',
  );
  return text.length > LONGEST_JSON ? `${text.slice(0, LONGEST_JSON - 1)}…` : text;
}

const nameOf = ({ name }: { readonly name: string }): string => jsonOf(escapeHidden(name));

export class EventPrinter {
  private open: 'text' | 'thinking' | undefined;

  constructor(private readonly hasColors: boolean) {}

  print(event: StreamEvent): string {
    const known = asKnownEvent(event);
    switch (known.type) {
      case 'text':
      case 'thinking':
        return this.delta(known.type, plainText(known.text));
      case 'toolCallFragment':
        return '';
      default:
        return this.printLine(known);
    }
  }

  line(text: string, color?: keyof typeof colors): string {
    const before = this.open ? '\n' : '';
    this.open = undefined;
    return text === '' ? before : `${before}${this.paint(plainText(text), color)}\n`;
  }

  private printLine(event: KnownEvent): string {
    switch (event.type) {
      case 'toolStart':
        return this.line(`→ ${nameOf(event)} ${jsonOf(event.arguments)}`, 'cyan');
      case 'toolWaiting':
        return this.line(`? ${nameOf(event)} ${jsonOf(event.arguments)} waits`, 'yellow');
      case 'toolProgress':
        return this.line(`  ${nameOf(event)}: ${jsonOf(event.value)}`, 'dim');
      case 'toolResult':
        return event.error === undefined
          ? this.line(`✓ ${nameOf(event)}: ${jsonOf(event.result)}`, 'green')
          : this.line(`✗ ${nameOf(event)}: ${jsonOf(event.error)}`, 'red');
      case 'retry':
        return this.line(`retry ${event.attempt} in ${event.delay} ms: ${jsonOf(event.error['message'])}`, 'yellow');
      case 'retract':
        return this.line('(the turn starts over)', 'yellow');
      case 'result': {
        const { finishReason, turns, usage } = event.result;
        const tokens = `${usage.input ?? '?'} tokens in, ${usage.output ?? '?'} out`;
        return this.line(`[${finishReason}, turns: ${turns}, ${tokens}]`, 'dim');
      }
      default:
        return '';
    }
  }

  private delta(type: 'text' | 'thinking', text: string): string {
    if (text === '') return '';
    const before = this.open && this.open !== type ? '\n' : '';
    this.open = type;
    return before + this.paint(text, type === 'thinking' ? 'dim' : undefined);
  }

  private paint(text: string, color: keyof typeof colors | undefined): string {
    return color && this.hasColors ? `\u001b[${colors[color]}m${text}\u001b[0m` : text;
  }
}
