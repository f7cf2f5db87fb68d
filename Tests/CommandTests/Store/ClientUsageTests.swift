import Foundation
import TestSupport
import Testing

/// The client's errors before it sends a request.
@Suite(.ownThread) struct ClientUsageTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private func client(_ words: String...) throws -> CommandRun {
    try Command(built: "mapstore").run(
      ["client"] + words + ["--folder", folder.file("maps")], environment: ["MAPSTORE_PASSWORD": "a long password"],
      timeout: 60)
  }

  /// Wrong usage, unknown stores and unusable files end with their documented exit codes.
  @Test(arguments: [
    (["list", "--folder", "new"], 2 as Int32, "--server"), (["get"], 64, "region"),
    (["get", "a", "--folder", "new", "--piece", "1"], 64, "--piece"),
    (["around", "a", "--folder", "new"], 64, "--point"),
    (["around", "a", "--folder", "new", "--point", "1,200"], 64, "--point"),
    (["around", "a", "--folder", "new", "--track", "none.gpx"], 66, "none.gpx"),
    (["buy", "a", "--folder", "new", "--store-key", "none"], 66, "store-key"),
    (["login", "anna", "--folder", "new", "--server", "http://127.0.0.1:1"], 69, "127.0.0.1"),
  ])
  func unusableArgumentsAreRefused(_ arguments: [String], status: Int32, naming: String) async throws {
    let run = try await onThread { [folder] in
      try Command(built: "mapstore").run(
        ["client"] + arguments, in: folder.path, environment: ["MAPSTORE_PASSWORD": "a long password"])
    }
    #expect(run.status == status && run.stderr.contains(naming), "\(run)")
  }

  @Test(arguments: ["127.0.0.1:8791", "maps.example.com", "ftp://maps.example.com", ""])
  func serverAddressNeedsAScheme(address: String) throws {
    let run = try client("login", "anna", "--server", address)
    #expect(run.status == 64 && run.stderr.contains("must begin with http:// or https://"), "\(run)")
  }

  @Test(arguments: ["http://127.0.0.1:65536", "https://", "http://[]", "http://a:-1"]) func serverAddressMustBePossible(
    address: String
  ) throws {
    let run = try client("login", "anna", "--server", address)
    #expect(run.status == 64 && run.stderr.contains("--server \(address): "), "\(run)")
  }

  @Test(arguments: ["remove", "pause"]) func unknownRegionsAreNamed(verb: String) throws {
    let run = try client(verb, "nosuch", "--server", "http://127.0.0.1:1")
    #expect(
      run.status == 66 && run.stderr.contains("mapstore: nosuch: is neither installed nor downloading in"), "\(run)")
    let list = "mapstore client list --server 'http://127.0.0.1:1' --folder '\(folder.file("maps"))'"
    #expect(run.stderr.hasSuffix("; \(list) shows what is\n"), "\(run)")
  }

  @Test func aRegionToCheckThatIsNotInstalledIsNamed() throws {
    let run = try client("check", "nosuch", "--server", "http://127.0.0.1:1")
    #expect(run.status == 66 && run.stderr.contains("mapstore: nosuch: is not installed in "), "\(run)")
    let list = "mapstore client list --server 'http://127.0.0.1:1' --folder '\(folder.file("maps"))'"
    #expect(run.stderr.contains("\(list) shows what is"), "\(run)")
  }

  @Test func theFakeStoresKeysAreAnOutputAsAnyOther() throws {
    func make(_ words: String...) throws -> CommandRun {
      try Command(built: "mapstore").run(["client", "store-key"] + words + ["--bundle-id", "org.example.maps"])
    }
    #expect(try make("-o", folder.file("keys")).status == 0)
    #expect(folder.names.sorted() == ["keys", "keys.root.der"])
    for words in [[], [folder.file("a"), "-o", folder.file("b")], ["-"]] {
      #expect(try Command(built: "mapstore").run(["client", "store-key", "--bundle-id", "a"] + words).status == 64)
    }
  }

  /// New keys are no remedy for those that cannot be read.
  @Test func newKeysOfTheFakeStoreAreSuggestedWhereThereAreNone() throws {
    let none = try client("buy", "a", "--store-key", folder.file("none"), "--server", "http://127.0.0.1:1")
    #expect(none.status == 66, "\(none)")
    #expect(none.stderr.hasSuffix("; make one: mapstore client store-key NEW-FILE --bundle-id APP\n"), "\(none)")
    // Not even root can read a folder as a file.
    let unreadable = try client("buy", "a", "--store-key", folder.path, "--server", "http://127.0.0.1:1")
    #expect(unreadable.status == 66 && unreadable.stderr.contains(": cannot be read: "), "\(unreadable)")
    #expect(!unreadable.stderr.contains("store-key"), "\(unreadable)")
  }

  @Test func theNextCommandIsNamed() throws {
    let first = try client("library")
    let maps = "--folder '\(folder.file("maps"))'"
    #expect(first.status == 2, "\(first)")
    #expect(first.stderr.hasSuffix(": mapstore client login LOGIN --server URL \(maps)\n"), "\(first)")
    // A device that was never in touch with its store knows no region.
    let list = try client("list", "--server", "http://127.0.0.1:1")
    #expect(list.status == 0 && list.stdout.isEmpty, "\(list)")
    #expect(list.stderr.hasSuffix(": mapstore client library --server 'http://127.0.0.1:1' \(maps)\n"), "\(list)")
    let json = try client("list", "--json", "--server", "http://127.0.0.1:1")
    #expect(json.status == 0 && json.stdout == "[]\n" && json.stderr.isEmpty, "\(json)")
    let signedOut = try client("library", "--server", "http://127.0.0.1:1")
    let server = "--server 'http://127.0.0.1:1'"
    #expect(signedOut.status == 77, "\(signedOut)")
    #expect(
      signedOut.stderr.hasSuffix("sign in again: mapstore client login LOGIN \(server) \(maps)\n"), "\(signedOut)")
    let subcommand = try client("regsiter")
    #expect(subcommand.status == 64, "\(subcommand)")
    #expect(subcommand.stderr.contains("there is no command client regsiter; did you mean client register?"))
  }

  /// The next command works on the store and the folder that this one had. The default folder is not named.
  @Test func theNextCommandHasTheStoreAndTheFolder() throws {
    func library(_ options: String...) throws -> CommandRun {
      try Command(built: "mapstore").run(
        ["client", "library", "--server", "http://127.0.0.1:1"] + options, in: folder.path)
    }
    let login = "sign in again: mapstore client login LOGIN --server 'http://127.0.0.1:1'"
    #expect(try library().stderr.hasSuffix("\(login)\n"))
    #expect(try library("-f", "maps").stderr.hasSuffix("\(login)\n"))
    #expect(try library("-f", "anna's maps").stderr.hasSuffix("\(login) --folder 'anna'\\''s maps'\n"))
    #expect(try library("--folder=phone").stderr.hasSuffix("\(login) --folder 'phone'\n"))
  }

  /// A person waits, and nothing listens there.
  @Test(arguments: ["login", "register"]) func aRefusedConnectionIsNotTriedAgain(verb: String) throws {
    let run = try client(verb, "anna", "--server", "http://127.0.0.1:1")
    #expect(run.status == 69, "\(run)")
    #expect(run.stderr.hasSuffix("; check the network and the address, then try again\n"), "\(run)")
    #expect(!run.stderr.contains("attempts"), "\(run)")
  }

  @Test func aFileInPlaceOfTheFolderIsNamed() throws {
    let file = try folder.write("n.json", "{}")
    let run = try Command(built: "mapstore").run(["client", "list", "--folder", file])
    #expect(run.status == 74 && run.stderr.contains("mapstore: \(file): is not a folder; "), "\(run)")
  }

  @Test func unreadableClientStateIsNamed() throws {
    // Not even root can read a folder as a file.
    try FileManager.default.createDirectory(
      atPath: folder.file("maps/.mapstore-client.json"), withIntermediateDirectories: true)
    let run = try client("list")
    #expect(run.status == 66 && run.stderr.contains(".mapstore-client.json: cannot be read"), "\(run)")
  }
}
