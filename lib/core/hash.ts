/** 64 bits (FNV-1a, with two offsets of 32 bits), in hexadecimal. */
export function hash(text: string): string {
  const halves = [0x81_1c_9d_c5, 0xcb_f2_9c_e4].map((offset) => {
    let bits = offset;
    for (let index = 0; index < text.length; index++) bits = Math.imul(bits ^ text.charCodeAt(index), 0x01_00_01_93);
    return (bits >>> 0).toString(16).padStart(8, '0');
  });
  return halves.join('');
}
