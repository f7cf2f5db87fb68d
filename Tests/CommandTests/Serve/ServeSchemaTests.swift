import Foundation
import Support
import TestSupport
import Testing
import TileIndex

/// docs/reference/tileserve.schema.json agrees with what the command accepts.
@Suite(.ownThread) struct ServeSchemaTests {
  private static let path = ProjectFiles.path("docs/reference/tileserve.schema.json")
  private let schema: JSONValue
  private let folder: TemporaryFolder

  init() throws {
    schema = try JSONFile.read(Self.path)
    folder = try TemporaryFolder()
  }

  /// The command's error for a configuration file. The path to serve does not exist, which is noticed after the file
  /// was read.
  private func complaint(_ text: String) throws -> (isAccepted: Bool, text: String) {
    let file = try folder.write("serve.json", text)
    let run = try tileserve(folder.file("none"), "--config", file)
    #expect([66, 78].contains(run.status), "\(run)")
    return (run.status == 66, run.stderr)
  }

  private var properties: [JSONValue.Member] { schema["properties"]?.members ?? [] }

  @Test func schemaListsTheOptions() throws {
    let help = try tileserve("--help").stdout
    let options = Set(help.matches(of: /(?m)^  --([a-z-]+)/).map { Self.camelCase($0.output.1) })
    let others: Set = ["config", "version"]
    #expect(options.isSuperset(of: others) && options.count > 10)
    let members = Set(properties.map(\.name))
    // What is set once is in the file alone.
    #expect(members.isSuperset(of: options.subtracting(others).union(["$schema", "path", "tilesets"])))
    #expect(schema["additionalProperties"] == .bool(false))
    // The command knows each by its name in the file.
    for name in members where name != "$schema" {
      let complaint = try complaint(#"{"\#(name)": null}"#)
      #expect(!complaint.isAccepted && complaint.text.contains(": \(name): must be "), "\(complaint)")
    }
    let tileset = schema["properties"]?["tilesets"]?["additionalProperties"]
    let settings = Set(tileset?["properties"]?.members?.map(\.name) ?? [])
    let known = try complaint(#"{"tilesets": {"a": {"nonsense": "a"}}}"#).text
    #expect(settings == ["missing", "cacheControl"] && settings.allSatisfy { known.contains($0) }, "\(known)")
    #expect(tileset?["additionalProperties"] == .bool(false))
  }

  private static func camelCase(_ option: Substring) -> String {
    let words = option.split(separator: "-")
    return words.dropFirst().reduce(String(words[0])) { $0 + $1.prefix(1).uppercased() + $1.dropFirst() }
  }

  @Test func schemaHasTheCommandsWordsAndRanges() throws {
    for member in properties {
      if let words = member.value["enum"]?.array?.compactMap(\.string) {
        let complaint = try complaint(#"{"\#(member.name)": "nonsense"}"#).text
        #expect(complaint.hasSuffix(" is none of \(words.joined(separator: ", "))\n"), "\(complaint)")
      }
      if member.value["type"] == .string("integer"), case .number(let low)? = member.value["minimum"],
        case .number(let high)? = member.value["maximum"]
      {
        let complaint = try complaint(#"{"\#(member.name)": -1}"#).text
        #expect(complaint.hasSuffix(" from \(low) to \(high)\n"), "\(complaint)")
      }
      #expect(member.name.hasPrefix("$") || member.value["description"]?.string != nil, "\(member.name)")
    }
    let own = schema["properties"]?["tilesets"]?["additionalProperties"]?["properties"]?["missing"]
    #expect(own?["enum"] == schema["properties"]?["missing"]?["enum"])
  }

  private static let documents: [(isRight: Bool, text: String)] = [
    (true, "{}"), (true, #"{"$schema": "tileserve.schema.json", "path": "/maps, /more", "port": 0, "host": "::"}"#),
    (true, #"{"cache": "0", "threads": 256, "drainDelay": 10, "connections": 100}"#), (true, #"{"cache": "1.5GB"}"#),
    (true, #"{"cache": "64MiB"}"#), (false, #"{"cache": "64 MiB"}"#), (true, #"{"cache": "1e6"}"#),
    (true, #"{"cors": "https://a.example, https://b.example:81"}"#),
    (true, #"{"tilesets": {"a b": {"missing": "blank", "cacheControl": "no-store"}, "c": {}}}"#),
    (
      true,
      #"""
      {"publicUrl": "https://maps.example.org/tiles", "cors": "off", "prefetch": "on", "fastPath": "off", \#
      "logLevel": "debug"}
      """#
    ),
    (false, "[]"), (false, #"{"prot": 80}"#), (false, #"{"port": "80"}"#), (false, #"{"port": 65536}"#),
    (false, #"{"port": 1.5}"#), (false, #"{"threads": 0}"#), (false, #"{"drainDelay": -1}"#), (false, #"{"host": 7}"#),
    (false, #"{"missing": "405"}"#), (false, #"{"cache": "much"}"#), (false, #"{"cache": "-1MB"}"#),
    (false, #"{"cors": "nonsense"}"#), (false, #"{"publicUrl": "maps"}"#), (false, #"{"prefetch": "always"}"#),
    (false, #"{"fastPath": "auto"}"#),
    (false, #"{"cacheControl": "a\nb"}"#), (false, #"{"tilesets": []}"#),
    (false, #"{"tilesets": {"a": {"missing": 404}}}"#),
    (false, #"{"tilesets": {"a": {"mising": "404"}}}"#), (false, #"{"tilesets": {"a": "404"}}"#),
  ]

  private static let validator = """
    import json, sys, jsonschema
    schema = json.load(open(sys.argv[1]))
    jsonschema.Draft202012Validator.check_schema(schema)
    for path in sys.argv[2:]:
        print("ok" if jsonschema.Draft202012Validator(schema).is_valid(json.load(open(path))) else "bad")
    """
  static let hasValidator =
    (try? Command(installed: "python3")?.run(["-c", "import jsonschema.validators"]))?.status == 0

  /// Another program's validator accepts and refuses the same documents as the command.
  @Test(.enabled(if: hasValidator, "python3 has no jsonschema (apt-get install python3-jsonschema)"))
  func jsonSchemaValidatorAndCommandAgree() throws {
    var paths: [String] = []
    for (index, document) in Self.documents.enumerated() {
      #expect(try complaint(document.text).isAccepted == document.isRight, "\(document.text)")
      paths.append(try folder.write("\(index).json", document.text))
    }
    let run = try #require(Command(installed: "python3")).run(["-c", Self.validator, Self.path] + paths)
    #expect(run.stdoutLines.map { $0 == "ok" } == Self.documents.map(\.isRight), "\(run)")
  }
}
