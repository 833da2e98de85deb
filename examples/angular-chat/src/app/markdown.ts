import { Component, input, linkedSignal } from '@angular/core';
import { renderMarkdown } from './markdown-blocks';
import type { MarkdownBlocks } from './markdown-blocks';

/** Shows Markdown while it arrives. Angular sanitises what is bound to innerHTML. */
@Component({
  selector: 'app-markdown',
  host: { class: 'markdown' },
  template: `@for (block of content().blocks; track $index) {
    <div dir="auto" [innerHTML]="block.html"></div>
  }`,
})
export class Markdown {
  readonly text = input.required<string>();
  readonly isGrowing = input(false);
  protected readonly content = linkedSignal<readonly [string, boolean], MarkdownBlocks>({
    source: () => [this.text(), this.isGrowing()],
    computation: ([text, isGrowing], previous) => renderMarkdown(text, previous?.value, isGrowing),
  });
}
