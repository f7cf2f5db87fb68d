import ArgumentParser

/// Options that say whose purchases are accepted: what Apple and Google sign names the app. Nil where the environment
/// or the file decides.
package struct AppOptions: ParsableArguments {
  @Option(
    name: .customLong("root-certificate"), parsing: .singleValue,
    help: ArgumentHelp(
      "A root certificate of Apple's, to which its signatures must lead; DER or PEM; repeatable.", valueName: "file"),
    completion: .file())
  var rootCertificates: [String] = []

  @Option(help: "The app's bundle id at Apple, such as org.example.maps.")
  var bundleId: String?

  package init() {}

  /// The flags that were given, by the names of the configuration.
  package var values: FlagValues {
    FlagValues(["bundleId": bundleId], lists: ["rootCertificates": rootCertificates])
  }
}
