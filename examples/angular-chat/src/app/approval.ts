import { afterNextRender, ApplicationRef, Component, computed, inject, input, viewChild } from '@angular/core';
import type { ElementRef } from '@angular/core';
import type { OfType, PartView } from 'rivulet';
import { Chat } from './chat';
import { showHidden } from './text';

/**
 * Asks whether a tool may run. Escape closes the dialog without an answer, and the button opens it again. No button has
 * the focus at first: Enter, typed for the next message, must not decide. Of several calls, only the first one opens its
 * dialog: the second click of a double click must not decide the next call.
 */
@Component({
  selector: 'app-approval',
  template: `
    <button (click)="open()">Decide …</button>
    <dialog #dialog [attr.aria-labelledby]="'approve-' + call().id" (close)="returnFocus()">
      <h2 [id]="'approve-' + call().id" tabindex="-1" autofocus>
        Approve <code>{{ name() }}</code
        >?
      </h2>
      <p>The model asks to run this tool with:</p>
      <dl>
        @for (argument of arguments(); track argument.name) {
          <dt>{{ argument.name }}</dt>
          <dd>{{ argument.value }}</dd>
        }
      </dl>
      <form method="dialog">
        <button (click)="deny()">Deny</button>
        <button class="primary" (click)="approve()">Approve</button>
      </form>
    </dialog>
  `,
})
export class Approval {
  readonly call = input.required<OfType<PartView, 'toolCall'>>();
  private readonly chat = inject(Chat);
  private readonly injector = inject(ApplicationRef).injector; // this component may be gone after the decision
  private before: Element | null = null;
  private readonly dialog = viewChild.required<ElementRef<HTMLDialogElement>>('dialog');
  protected readonly name = computed(() => showHidden(this.call().name));
  protected readonly arguments = computed(() =>
    Object.entries(this.call().arguments).map(([name, value]) => ({
      name: showHidden(name),
      value: showHidden(typeof value === 'string' ? value : JSON.stringify(value)),
    })),
  );

  constructor() {
    afterNextRender(() => {
      if (!document.querySelector('dialog[open]')) this.open();
    });
  }

  protected open(): void {
    this.before = document.activeElement;
    this.dialog().nativeElement.showModal();
  }

  /** The button that opened the dialog is gone after the decision: the conversation has the focus then. */
  protected returnFocus(): void {
    const before = this.before;
    afterNextRender(
      () => {
        const target =
          before instanceof HTMLElement && before.isConnected && before !== document.body ? before : undefined;
        (target ?? document.querySelector<HTMLElement>('.log'))?.focus({ preventScroll: true });
      },
      { injector: this.injector },
    );
  }

  protected approve(): void {
    this.chat.current.decide(this.call().id, { approve: true });
  }

  protected deny(): void {
    this.chat.current.decide(this.call().id, { approve: false });
  }
}
