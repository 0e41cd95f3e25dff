/**
 * Whether a number is a whole multiple of another, as decimals: 0.3 is one of 0.1, though their doubles are not.
 * Exact for all doubles, taken as the shortest decimal that denotes them, which is what JSON text says.
 */
export function isMultiple(value: number, of: number): boolean {
  if (Number.isSafeInteger(value) && Number.isSafeInteger(of)) return value % of === 0;
  const a = decimal(value);
  const b = decimal(of);
  // Exponents of doubles differ by at most some 650, so these stay small.
  const exponent = Math.min(a.exponent, b.exponent);
  return (a.digits * 10n ** BigInt(a.exponent - exponent)) % (b.digits * 10n ** BigInt(b.exponent - exponent)) === 0n;
}

function decimal(value: number): { digits: bigint; exponent: number } {
  const [mantissa = '0', exponent = '0'] = value.toExponential().split('e');
  const [whole = '0', fraction = ''] = mantissa.split('.');
  return { digits: BigInt(whole + fraction), exponent: Number(exponent) - fraction.length };
}
