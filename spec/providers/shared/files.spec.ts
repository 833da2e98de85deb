import { describe, expect, it } from '@jest/globals';
import type { FilePart } from '../../../lib/core/message.js';
import {
  dataUrl,
  fileName,
  imageMediaType,
  inlineDataUrl,
  parseDataUrl,
  textOfFile,
} from '../../../lib/providers/shared/files.js';

const file = (mediaType: string, fields: object = {}) => ({ type: 'file', mediaType, ...fields }) as FilePart;

describe('imageMediaType', () => {
  it.each([
    ['png', 'image/png'],
    ['webp', 'image/webp'],
    ['svg', 'image/svg+xml'],
    ['SVG', 'image/svg+xml'],
    ['PNG', 'image/png'],
  ])('imageMediaType(%j) is %s', (format, mediaType) => {
    expect(imageMediaType(format)).toBe(mediaType);
  });
});

describe('fileName', () => {
  it.each([
    ['application/pdf', 'file.pdf'],
    ['image/png; x=1', 'file.png'],
    ['image/svg+xml', 'file.svg'],
    ['application/vnd.ms-excel', 'file.bin'],
    ['odd', 'file.bin'],
  ])('fileName for %s is %s', (mediaType, name) => {
    expect(fileName(file(mediaType))).toBe(name);
  });

  it('fileName is the name of the file, if it has one', () => {
    expect(fileName(file('application/pdf', { name: 'report.txt' }))).toBe('report.txt');
  });
});

describe('parseDataUrl', () => {
  it('parseDataUrl returns the media type and the data of a base64 data URL', () => {
    expect(parseDataUrl('data:image/png;name=a;base64,AQID')).toEqual({ mediaType: 'image/png', data: 'AQID' });
    expect(parseDataUrl('DATA:;Base64,AQID')).toEqual({ mediaType: 'text/plain', data: 'AQID' });
  });

  it.each(['https://a.test/x.png', 'data:text/plain,hello', 'data:image/png;base64'])(
    'parseDataUrl(%j) is undefined',
    (url) => {
      expect(parseDataUrl(url)).toBeUndefined();
    },
  );

  it('inlineDataUrl replaces a data URL by its data, and keeps any other file', () => {
    const inline = inlineDataUrl(file('image/*', { url: 'data:image/png;base64,AQID', name: 'a' }));
    expect(inline).toEqual(file('image/*', { data: 'AQID', name: 'a' }));
    expect(dataUrl(file('image/png', { data: 'AQID' }))).toBe('data:image/png;base64,AQID');
    const remote = file('image/png', { url: 'https://a.test/x.png' });
    expect(inlineDataUrl(remote)).toBe(remote);
  });
});

describe('textOfFile', () => {
  it('textOfFile returns the content of a text file after its name', () => {
    expect(textOfFile(file('text/plain', { data: btoa('hello') }))).toBe('hello');
    expect(textOfFile(file('application/ld+json', { data: btoa('{}'), name: 'a.json' }))).toBe('a.json:\n{}');
  });

  it('textOfFile is undefined for a file that is not text, and for one by URL', () => {
    expect(textOfFile(file('image/png', { data: 'AQID' }))).toBeUndefined();
    expect(textOfFile(file('text/plain', { url: 'https://a.test/x.txt' }))).toBeUndefined();
  });

  it('textOfFile rejects data that is not base64', () => {
    expect(() => textOfFile(file('text/plain', { data: '*' }))).toThrow('The data of a text/plain file is not base64');
  });
});
