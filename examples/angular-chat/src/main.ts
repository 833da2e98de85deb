import { bootstrapApplication } from '@angular/platform-browser';
import { provideAgent } from 'rivulet/angular';
import { remoteAgent } from 'rivulet/chat';
import { App } from './app/app';

bootstrapApplication(App, { providers: [provideAgent(remoteAgent('/api/chat'))] }).catch((error: unknown) =>
  console.error(error),
);
