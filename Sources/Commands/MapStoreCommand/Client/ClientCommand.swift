import ArgumentParser

/// `mapstore client`: a device on the command line, for people and tests.
struct ClientCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "client",
    abstract: "Acts as a device of a map store: signs in, buys, installs and updates regions.",
    discussion: """
      The folder (--folder) contains the installed bundles, REGION.mbtiles. Sign in once with --server, which is \
      stored in the folder. Interrupted downloads continue from the bytes on the disk: one with get, all with sync.

      Exit codes: 0 done; 1 not everything was done, as the output says; 2 --server is missing; 64 wrong usage; 65 the \
      server's data is damaged; 66 no such region or file; 69 the server cannot be reached; 70 internal error; 73 no \
      space on the disk or within --quota; 74 the folder cannot be written; 75 another process uses the folder; 76 the \
      server refused; 77 not signed in, or not owned; 129, 130 or 143 interrupted, what was downloaded is kept.
      """,
    subcommands: [
      RegisterCommand.self, LoginCommand.self, LogoutCommand.self, LibraryCommand.self, ListCommand.self,
      BuyCommand.self, GetCommand.self, AroundCommand.self, PauseCommand.self, RemoveCommand.self, SyncCommand.self,
      CheckCommand.self, StoreKeyCommand.self, RefundCommand.self,
    ])
}
