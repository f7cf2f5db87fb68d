import Foundation
import TestSupport
import Testing

/// The samples of docs/reference/configuration.md have every member that the commands read, and are accepted.
@Suite(.ownThread) struct ConfigurationSampleTests {
  struct Sample: Sendable, CustomTestStringConvertible {
    /// The heading of the page.
    let file: String
    let command: String
    /// Those whose options the file may have; none for a command without subcommands. What all of them take counts.
    var subcommands: [String] = []
    /// The command line, up to the file's name.
    let words: [String]
    /// Members that are no options.
    let others: Set<String>
    /// The command's error once it has read all of the file.
    let error: String
    var testDescription: String { file }
  }

  static let samples = [
    Sample(
      file: "store.json", command: "mapstore", subcommands: ["serve"], words: ["serve", "--config"],
      others: [
        "linkSeconds", "sessionSeconds", "grantSeconds", "limits", "products", "appAppleId", "googlePublicKey",
        "packageName", "googlePushKeys", "googlePushAudience", "googlePushAccount", "refuseAppleV1", "hmacKeyFiles",
        "grantKeyFiles", "accelPrefix", "trustedProxies", "drainTimeout", "logLevel", "web",
        "apple", "google", "pages",
      ],
      error: "AppleRootCA-G3.cer: cannot be read"),
    Sample(
      file: "ledger.json", command: "purchase-ledger",
      subcommands: ["inspect", "import", "pull", "reconcile", "verify"], words: ["verify", "--config"],
      others: ["policy", "apple", "google", "appAppleId", "googlePublicKey", "packageName"],
      error: "AppleRootCA-G3.cer: cannot be read"),
    Sample(
      file: "tileserve.json", command: "tileserve", words: ["nowhere", "--config"],
      others: [
        "$schema", "path", "tilesets", "trustedProxies", "cacheControl", "drawingMemory", "prefetch", "fastPath",
        "connections", "drainDelay", "tlsCert", "tlsKey", "accessLog", "logLevel", "web",
      ], error: "nowhere: there is no such file or folder"),
  ]

  private let page: String
  private let folder: TemporaryFolder

  init() throws {
    page = try String(contentsOfFile: ProjectFiles.path("docs/reference/configuration.md"), encoding: .utf8)
    folder = try TemporaryFolder()
  }

  /// The first block of JSON below the heading that is the file's name.
  private func text(_ file: String) throws -> String {
    let section = try #require(page.components(separatedBy: "\n## \(file)\n").dropFirst().first, "\(file)")
    return String(try #require(section.firstMatch(of: /(?s)```json\n(.*?)```/), "\(file)").1)
  }

  private func members(_ file: String) throws -> [String: Any] {
    try #require(try JSONSerialization.jsonObject(with: Data(try text(file).utf8)) as? [String: Any])
  }

  @Test(arguments: samples) func theCommandAcceptsItsSample(_ sample: Sample) throws {
    try folder.write(sample.file, try text(sample.file))
    let run = try Command(built: sample.command).run(sample.words + [sample.file], in: folder.path)
    #expect(run.status != 0 && run.stderr.contains(sample.error), "\(run)")
  }

  @Test(arguments: samples) func aSampleHasEveryOption(_ sample: Sample) throws {
    let found = try members(sample.file)
    // An option that is given several times is a list, and has the plural.
    let options = found.filter { !sample.others.contains($0.key) }.map { name, value in
      value is [Any] ? String(name.dropLast()) : name
    }
    #expect(sample.others.isSubset(of: found.keys))
    #expect(try Set(options) == Self.options(of: sample))
  }

  /// In camel case, without those that a file cannot have.
  private static func options(of sample: Sample) throws -> Set<String> {
    let run = try Command(built: sample.command).run(["--experimental-dump-help"])
    let document = try JSONSerialization.jsonObject(with: Data(run.stdout.utf8)) as? [String: Any]
    let command = try #require(document?["command"] as? [String: Any])
    let subcommands = (command["subcommands"] as? [[String: Any]] ?? []).filter {
      sample.subcommands.contains($0["commandName"] as? String ?? "")
    }
    try #require(subcommands.count == sample.subcommands.count)
    let sets = (subcommands.isEmpty ? [command] : subcommands).map { names(of: $0) }
    let shared = sets.dropFirst().reduce(sets[0]) { $0.intersection($1) }
    return Set(shared.subtracting(["config", "help", "version", "json"]).map(camelCase))
  }

  private static func names(of command: [String: Any]) -> Set<String> {
    let arguments = command["arguments"] as? [[String: Any]] ?? []
    let names = arguments.filter { $0["kind"] as? String != "positional" }.flatMap {
      $0["names"] as? [[String: String]] ?? []
    }
    return Set(names.filter { $0["kind"] == "long" }.compactMap { $0["name"] })
  }

  private static func camelCase(_ option: String) -> String {
    let words = option.split(separator: "-")
    return words.dropFirst().reduce(String(words[0])) { $0 + $1.prefix(1).uppercased() + $1.dropFirst() }
  }

  /// The command names the members of an object when one is unknown.
  @Test(arguments: ["apple", "google", "policy"]) func objectsOfTheLedgerAreComplete(_ object: String) throws {
    let inner = try #require(try members("ledger.json")[object] as? [String: Any])
    try folder.write("ledger.json", #"{"\#(object)": {"nonsense": "a"}}"#)
    let run = try Command(built: "purchase-ledger").run(["verify", "--config", "ledger.json"], in: folder.path)
    let known = try #require(run.stderr.firstMatch(of: /there are ([A-Za-z, -]+)/), "\(run)")
    #expect(Set(known.1.split(separator: ", ").map { String($0) }) == Set(inner.keys), "\(run)")
  }

  @Test func limitsAreComplete() throws {
    let limits = try #require(try members("store.json")["limits"] as? [String: Any])
    let path = ProjectFiles.path("Sources/Commands/MapStoreCommand/Serve/MapStoreSettings.swift")
    let source = try String(contentsOfFile: path, encoding: .utf8)
    let known = Set(source.matches(of: /\("(\w+)", \\\.\w+/).map { String($0.1) })
    #expect(known.count > 10 && known == Set(limits.keys), "\(known.symmetricDifference(limits.keys))")
    let manual = try String(contentsOfFile: ProjectFiles.path("docs/reference/store.md"), encoding: .utf8)
    let row = try #require(manual.firstMatch(of: /(?m)^\| `limits` \|.*$/)).0
    for (name, value) in limits { #expect(row.contains("`\(name)` \(value)"), "\(name)") }
  }
}
