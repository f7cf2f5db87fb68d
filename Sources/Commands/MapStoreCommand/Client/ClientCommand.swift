import ArgumentParser

/// `mapstore client`: a device on the command line, for people and tests.
struct ClientCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "client",
    abstract: "Speaks with a store as a device does: signs in, buys, installs, brings up to date.",
    discussion: """
      The folder (--folder) holds the installed bundles, REGION.mbtiles; sign in once with --server, which is \
      remembered there. Downloads that were cut off, by the \
      network, Ctrl-C or a kill, go on from the bytes on the disk: with get, or all of them with sync.

      Exit codes: 0 done; 1 something was left undone, as the output says; 2 --server is missing; 64 wrong usage; 65 \
      what came from the server is damaged; 66 no such region or \
      file; 69 the server cannot be reached; 70 internal error; 73 no room, on the disk or within --quota; 74 the \
      folder cannot be written; 75 another process has the folder; 76 the \
      server refused; 77 not signed in, or not owned; 129, 130 or 143 interrupted, what was loaded stays.
      """,
    subcommands: [
      RegisterCommand.self, LoginCommand.self, LogoutCommand.self, LibraryCommand.self, ListCommand.self,
      BuyCommand.self, GetCommand.self, AroundCommand.self, PauseCommand.self, RemoveCommand.self, SyncCommand.self,
      CheckCommand.self, StoreKeyCommand.self, RefundCommand.self,
    ])
}
