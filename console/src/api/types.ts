// What the admin API returns: the types of its schemas. `…At` is in seconds since the epoch.
export type {
  AccessToken,
  Account,
  EndedPage,
  ExternalAccount,
  ListedSession,
  Rights,
  Session,
  SessionPage,
  UserSession,
} from '../../../src/dialects/admin-api/schemas/account.ts'
export type { Database, DatabasePage, Security } from '../../../src/dialects/admin-api/schemas/databases.ts'
export type {
  KeyRing,
  OptionList,
  RotationState,
  RotationStep,
  SecretList,
  ServerOption,
  SettingChange,
  SettingPreview,
} from '../../../src/dialects/admin-api/schemas/settings.ts'
export type {
  AuditEventKind,
  AuditList,
  AuditRecord,
  Line,
  Overview,
  OverviewHealth,
  RecordedCommand,
  ServerNode,
  Verification,
} from '../../../src/dialects/admin-api/schemas/system.ts'
export type {
  AccessReport,
  BatchReport,
  FactorPolicy,
  Grant,
  GrantLevel,
  ListedAdministrator as Administrator,
  ListedUser as User,
  Lockout,
  PasswordLink,
  Role,
  RoleDetails,
  RolePage,
  SignIn,
  UnprotectedAccount,
  UserDetails,
  UserPage,
} from '../../../src/dialects/admin-api/schemas/users.ts'
