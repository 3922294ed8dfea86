// The global types of `@types/passport` 1, as many programs have them beside those of `cardea/express`.
import type { Middleware } from '../../src/express.ts'

declare global {
  namespace Express {
    interface AuthInfo {}
    interface User {}
    interface Request {
      authInfo?: AuthInfo | undefined
      user?: User | undefined
      isAuthenticated(): this is AuthenticatedRequest
      isUnauthenticated(): this is UnauthenticatedRequest
    }
    interface AuthenticatedRequest extends Request {
      user: User
    }
    interface UnauthenticatedRequest extends Request {
      user?: undefined
    }
  }
}

/** The user is that of Cardea. */
export const readName = ({ user }: Express.Request): string | null | undefined => user?.name

export const use = (middleware: Middleware, app: { use(one: Middleware): void }): void => app.use(middleware)
