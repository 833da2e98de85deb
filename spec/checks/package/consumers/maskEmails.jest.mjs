import { expect, it } from '@jest/globals';
import * as rivulet from 'rivulet';
import * as testing from 'rivulet/testing';
import maskSpec from './maskEmails.cjs';

maskSpec({ rivulet, testing, expect, it });
