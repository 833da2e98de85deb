import { Component, computed, input, output } from '@angular/core';
import type { JsonObject, JsonSchema, JsonValue, OfType, PartView } from 'rivulet';

type Question = NonNullable<OfType<PartView, 'toolCall'>['question']>;

/** A field of the form. */
interface Field {
  readonly name: string;
  readonly label: string;
  readonly hint: string;
  readonly kind: 'text' | 'number' | 'date' | 'file' | 'yes' | 'one' | 'many';
  readonly choices: readonly string[];
  readonly isRequired: boolean;
}

/** The form of a question, from the JSON schema of its answer. The service validates the answer, and says what is wrong. */
@Component({
  selector: 'app-question',
  template: `
    <form
      class="question"
      [inert]="isSent()"
      [attr.aria-describedby]="question().problem ? id() : null"
      (submit)="send($event)"
    >
      <h3>{{ question().message }}</h3>
      @if (question().problem; as problem) {
        <p class="problem" role="alert" [id]="id()">{{ problem }}</p>
      }
      @for (field of fields(); track field.name) {
        @switch (field.kind) {
          @case ('many') {
            <fieldset>
              <legend>{{ field.label }}</legend>
              @for (choice of field.choices; track choice) {
                <label class="check"><input type="checkbox" [name]="field.name" [value]="choice" />{{ choice }}</label>
              }
            </fieldset>
          }
          @case ('yes') {
            <label class="check"><input type="checkbox" [name]="field.name" />{{ field.label }}</label>
          }
          @case ('one') {
            <label
              >{{ field.label }}
              <select [name]="field.name" [required]="field.isRequired">
                <option value="">Choose …</option>
                @for (choice of field.choices; track choice) {
                  <option>{{ choice }}</option>
                }
              </select>
            </label>
          }
          @default {
            <label
              >{{ field.label }}
              <input [type]="field.kind" step="any" [name]="field.name" [required]="field.isRequired" />
            </label>
          }
        }
        @if (field.hint) {
          <p class="hint">{{ field.hint }}</p>
        }
      }
      <div class="buttons">
        <button type="button" (click)="declined.emit()">Decline</button>
        <button class="primary">Send answer</button>
      </div>
    </form>
  `,
})
export class QuestionForm {
  readonly id = input.required<string>();
  readonly question = input.required<Question>();
  readonly isSent = input(false);
  readonly answered = output<JsonValue>();
  readonly declined = output();
  protected readonly fields = computed(() => fieldsOf(this.question().schema));

  protected async send(event: Event): Promise<void> {
    event.preventDefault();
    const data = new FormData(event.target as HTMLFormElement);
    const values = await Promise.all(
      this.fields().map(async (field) => [field.name, await valueOf(field, data)] as const),
    );
    const answer = Object.fromEntries(values.filter(([, value]) => value !== undefined)) as JsonObject;
    this.answered.emit(isObject(this.question().schema) ? answer : (answer[''] ?? null));
  }
}

const isObject = (schema: JsonSchema): boolean => schema['type'] === 'object' || 'properties' in schema;

function fieldsOf(schema: JsonSchema): readonly Field[] {
  if (!isObject(schema)) return [fieldOf('', schema, true)];
  const properties = Object.entries((schema['properties'] ?? {}) as Record<string, JsonSchema>);
  const required = (schema['required'] ?? []) as readonly string[];
  return properties.map(([name, property]) => fieldOf(name, property, required.includes(name)));
}

function fieldOf(name: string, schema: JsonSchema, isRequired: boolean): Field {
  const {
    title = name,
    description = '',
    items,
  } = schema as { title?: string; description?: string; items?: JsonSchema };
  const choices = ((items ?? schema)['enum'] ?? []) as readonly string[];
  const label = isRequired ? title || 'Your answer' : `${title} (optional)`;
  return { name, label, hint: description, choices, isRequired, kind: kindOf(schema, choices) };
}

function kindOf({ type, format, contentEncoding }: JsonSchema, choices: readonly string[]): Field['kind'] {
  if (choices.length > 0) return type === 'array' ? 'many' : 'one';
  if (type === 'boolean') return 'yes';
  if (type === 'number' || type === 'integer') return 'number';
  if (contentEncoding === 'base64') return 'file';
  return format === 'date' ? 'date' : 'text';
}

/** The value of a field; undefined if nothing was given. */
async function valueOf({ name, kind }: Field, data: FormData): Promise<JsonValue | undefined> {
  const value = data.get(name) ?? '';
  if (kind === 'many') return data.getAll(name).map(String);
  if (kind === 'yes') return data.has(name);
  if (value instanceof File) return value.size > 0 ? base64(value) : undefined;
  if (value === '') return undefined;
  return kind === 'number' ? Number(value) : value;
}

const base64 = async (file: File): Promise<string> =>
  btoa(Array.from(new Uint8Array(await file.arrayBuffer()), (byte) => String.fromCharCode(byte)).join(''));
