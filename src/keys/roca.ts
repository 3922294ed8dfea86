const GENERATOR = 65_537
const PRIMES = [
  3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97, 101, 103, 107, 109, 113,
  127, 131, 137, 139, 149, 151, 157, 163, 167,
]

/** For each small prime, what the powers of the generator leave when divided by it. */
const REMAINDERS: readonly (readonly [prime: bigint, remainders: ReadonlySet<number>])[] = PRIMES.map((prime) => {
  const remainders = new Set<number>()
  for (let power = 1; !remainders.has(power); power = (power * GENERATOR) % prime) remainders.add(power)
  return [BigInt(prime), remainders]
})

/**
 * Whether a modulus bears the mark of the chips of CVE-2017-15361 ("ROCA"), whose keys can be factored: primes made
 * as powers of 65537 leave only powers of it behind. A sound modulus looks so less than once in a hundred million.
 */
export const isRocaModulus = (modulus: bigint): boolean =>
  REMAINDERS.every(([prime, remainders]) => remainders.has(Number(modulus % prime)))
