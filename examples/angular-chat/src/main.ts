import { bootstrapApplication } from '@angular/platform-browser';
import { remoteAgent } from 'rivulet';
import { provideAgent } from 'rivulet/angular';
import { App } from './app/app';

bootstrapApplication(App, { providers: [provideAgent(remoteAgent('/api/chat'))] }).catch((error: unknown) =>
  console.error(error),
);
