import type { Route } from '../../router.ts'

/** What the address says, as the API reads it. */
export function toFilter({ search = '', by = 'user', age = '' }: Route['query']) {
  const [bound, seconds] = age.split(' ')
  return {
    ...(search !== '' && { search, by }),
    ...(seconds !== undefined && { [`${bound}Age`]: Number(seconds) }),
  }
}
