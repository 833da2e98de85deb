import { expect, it } from 'vitest';
import * as rivulet from 'rivulet';
import * as testing from 'rivulet/testing';
import maskSpec from './maskEmails.cjs';

maskSpec({ rivulet, testing, expect, it });
